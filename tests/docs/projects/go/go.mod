module counter

go 1.18
