package op
import ("testing")
func BenchmarkInspect(b *testing.B){
 raw:=[]byte(`{"url":"https://example.com/some/path?with=query","title":"A title of the usual length","description":"And a description that is a bit longer than it","tags":["go","programming","reference"],"folderId":"01890a5d-ac96-774b-bcce-b302099a8057","noticeVersion":"1"}`)
 b.ReportAllocs()
 for b.Loop(){ if err:=inspect(raw); err!=nil {b.Fatal(err)} }
}
