// A stream of C++ reads a text that another thread changes, in the library, where nobody records it. A literal, and what
// is its thread's own, nobody changes.
#include <iostream>
#include <string>
#include <thread>

static char text[32] = "hello";

__attribute__((noipa)) static void print_literal()
{
    std::cout << "hello\n";
}

__attribute__((noipa)) static void print_own(int number)
{
    const std::string own = std::to_string(number);
    std::cout << own << '\n';
}

__attribute__((noipa)) static void print_shared()
{
    std::cout << text << '\n';
}

int main()
{
    print_literal();
    print_own(1);
    std::thread printing(print_shared);
    text[1] = 'a';
    printing.join();
}
