// Copies of a shared pointer look at whether there is one thread alone: before there is a second one, and after.
#include <memory>
#include <thread>

int main()
{
    auto first = std::make_shared<int>(3);
    auto second = first;
    std::thread one([&] { auto own = second; });
    std::thread other([&] { auto own = second; });
    one.join();
    other.join();
}
