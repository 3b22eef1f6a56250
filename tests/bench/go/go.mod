module evenkeel.dev/bench

go 1.24
