/* The locks of C++'s library, as libstdc++ makes them: some of it is inline and instrumented, some of
 * it lies in the shared library and is not.
 *
 * Each variable is kept by one of them, and `unkept` by none.
 */
#include <condition_variable>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

static std::mutex mutex;
static std::recursive_mutex recursive;
static std::timed_mutex timed;
static std::shared_mutex shared;
static std::condition_variable changed;
static std::once_flag once;
static bool ready;
static int plain, twice, limited, table, made, unkept;

struct Settings {
    int value;
    Settings() : value(7) {}
};

static Settings &settings()
{
    static Settings instance; /* made by the first that comes */
    return instance;
}

static void add_both(int depth)
{
    std::lock_guard<std::recursive_mutex> guard(recursive);
    twice++; /* @twice */
    if (depth > 0)
        add_both(depth - 1);
}

static void worker(int number)
{
    {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [] { return ready; });
        plain += number; /* @plain */
    }
    add_both(1);
    if (timed.try_lock_for(std::chrono::seconds(100))) {
        limited++; /* @limited */
        timed.unlock();
    }
    {
        std::unique_lock<std::shared_mutex> writer(shared);
        table += number; /* @table_write */
    }
    {
        std::shared_lock<std::shared_mutex> reader(shared);
        if (table == 0) /* @table_read */
            throw 1;
    }
    std::call_once(once, [] { made = settings().value; /* @made_write */ });
    if (made != settings().value) /* @made_read */
        throw 2;
    unkept = number; /* @unkept */
}

int main()
{
    std::vector<std::thread> threads;
    for (int number = 1; number <= 3; number++)
        threads.emplace_back(worker, number);
    {
        std::lock_guard<std::mutex> guard(mutex);
        ready = true;
    }
    changed.notify_all();
    for (auto &thread : threads)
        thread.join();

    std::promise<int> promise;
    std::future<int> answer = promise.get_future();
    int handed = 0;
    std::thread giver([&] {
        handed = 42; /* @handed_write */
        promise.set_value(1);
    });
    answer.wait();
    int seen = handed; /* @handed_read */
    giver.join();
    auto sum = std::async(std::launch::async, [&] { return plain + seen; });
    return sum.get() == 6 + 42 && twice == 6 && limited == 3 ? 0 : 1;
}
