/* An initialization that throws is made again by whoever comes next, and what it did before it threw
 * precedes that: only one thread at a time is inside. `std::call_once` and a local static promise it
 * alike. What is written outside of them nobody orders.
 */
#include <mutex>
#include <stdexcept>
#include <thread>

static std::once_flag once;
static int tried, constructed, unkept;

static void try_to_make()
{
    if (++tried < 3) /* @tried */
        throw std::runtime_error("in vain");
}

struct Settings {
    Settings()
    {
        if (++constructed < 3) /* @constructed */
            throw std::runtime_error("in vain");
    }
};

static void make_both()
{
    try {
        std::call_once(once, try_to_make);
    } catch (const std::runtime_error &) {
    }
    try {
        static Settings settings;
    } catch (const std::runtime_error &) {
    }
    unkept++; /* @unkept */
}

int main()
{
    std::thread first(make_both), second(make_both), third(make_both);
    first.join();
    second.join();
    third.join();
    return tried == 3 && constructed == 3 ? 0 : 1;
}
