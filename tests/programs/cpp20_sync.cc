/* C++20's barrier, latch, semaphore and atomic waits: headers on top of atomics and of the futex
 * system call, without any pthread object.
 *
 * Everything but `unkept` is handed from thread to thread by one of them.
 */
#include <atomic>
#include <barrier>
#include <latch>
#include <semaphore>
#include <thread>

static std::latch started(3);
static std::barrier<> rounds(2);
static std::counting_semaphore<4> items(0);
static std::binary_semaphore done(0);
static std::atomic<int> flag(0);
static int cells[2], produced, waited, unkept;

static void worker(int number)
{
    started.arrive_and_wait();
    for (int round = 0; round < 3; round++) {
        cells[number] = round; /* @own_cell */
        rounds.arrive_and_wait();
        if (cells[1 - number] != round) /* @other_cell */
            throw 1;
        rounds.arrive_and_wait();
    }
    unkept = number; /* @unkept */
    if (number == 0) {
        produced = 5; /* @produce */
        items.release();
        done.acquire();
        waited = 6; /* @set */
        flag.store(1);
        flag.notify_one();
    } else {
        items.acquire();
        if (produced != 5) /* @consume */
            throw 2;
        done.release();
        flag.wait(0);
        if (waited != 6) /* @waited */
            throw 3;
    }
}

int main()
{
    std::thread first(worker, 0), second(worker, 1);
    started.arrive_and_wait();
    first.join();
    second.join();
    return 0;
}
