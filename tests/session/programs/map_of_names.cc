// A map of strings under a lock: what libstdc++ does to both is recorded, so every schedule can be covered.
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
    std::thread one(add, 1), other(add, 2);
    one.join();
    other.join();
    return names.size() == 2 ? 0 : 1;
}
