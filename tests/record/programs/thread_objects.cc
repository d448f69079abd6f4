// std::thread objects that are destroyed after they were joined or detached; and one that cannot be joined any more.
#include <atomic>
#include <cstdlib>
#include <system_error>
#include <thread>

static std::atomic<int> counted{0};

static void count()
{
    counted++;
}

int main()
{
    std::thread *threads[] = {new std::thread(count), new std::thread(count), new std::thread(count)};
    threads[0]->join();
    threads[1]->detach();
    threads[2]->join();
    bool refused = false;
    try {
        threads[2]->join();
    } catch (const std::system_error &) {
        refused = true;
    }
    for (std::thread *thread : threads)
        delete thread;
    while (counted.load() < 3)
        std::this_thread::yield();
    return refused ? EXIT_SUCCESS : EXIT_FAILURE;
}
