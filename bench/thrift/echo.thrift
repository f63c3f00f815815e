namespace cpp skein.bench

service BenchEcho {
  binary Echo(1: binary payload)
}
