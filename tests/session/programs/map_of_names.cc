// A map of strings under a lock, filled by a function object: what libstdc++ does to all of these is recorded, so every
// schedule can be covered.
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

static std::mutex lock;
static std::map<int, std::string> names;

static void add(int number)
{
    std::lock_guard<std::mutex> guard(lock);
    names[number] = "a name that is long enough for a block";
}

int main()
{
    const std::function<void(int)> adding = add;
    std::thread one(adding, 1), other(adding, 2);
    one.join();
    other.join();
    return names.size() == 2 ? 0 : 1;
}
