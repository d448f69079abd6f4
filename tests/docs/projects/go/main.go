// Two goroutines count together, without a lock.
package main

import "sync"

var count int

func add(done *sync.WaitGroup) {
	count++
	done.Done()
}

func main() {
	var done sync.WaitGroup
	done.Add(2)
	go add(&done)
	go add(&done)
	done.Wait()
	println(count)
}
