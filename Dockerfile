# A static binary and nothing else. The data is a volume that the unprivileged
# user owns:
#   docker build -t bm . && docker run -p 8787:8787 -v bm:/data bm
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /out/bm ./cmd/bm \
 && mkdir -p /out/data /out/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/bm /bm
COPY --from=build --chown=65532:65532 --chmod=0700 /out/data /data
COPY --from=build --chown=65532:65532 --chmod=0700 /out/tmp /tmp
USER 65532:65532
VOLUME /data
EXPOSE 8787
ENV BM_SERVE_ADDR=0.0.0.0:8787 BM_SERVE_DATA_DIR=/data
ENTRYPOINT ["/bm"]
CMD ["serve"]
