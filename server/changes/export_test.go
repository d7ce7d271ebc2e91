package changes

// Poke writes the events of a stream.
var Poke = poke
