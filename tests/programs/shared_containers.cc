// Maps, a list and strings under a lock, whose nodes, sizes and characters libstdc++ changes, which is not instrumented; and a
// counter that is forgotten. What the library does is recorded, so the lock's sections may change places, and the counter
// races.
#include <cstdio>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

std::mutex lock;
std::map<int, std::string> names;
std::unordered_map<int, int> lengths;
std::list<int> order;
int counted;

static void work(int from)
{
    for (int number = from; number < from + 12; number += 2) {
        {
            std::lock_guard<std::mutex> guard(lock);
            std::string name = "number ";
            name += std::to_string(number);
            names[number] = name + " of a few";
            lengths[number] = name.size();
            order.push_back(number);
            if (number % 6 == 0) {
                names.erase(order.front());
                order.pop_front();
            }
        }
        counted++; /* @count */
    }
}

int main()
{
    std::thread one(work, 0), other(work, 1);
    one.join();
    other.join();
    size_t all = 0;
    for (auto &name : names)
        all += name.second.size();
    printf("%zu %zu\n", all, order.size());
}
