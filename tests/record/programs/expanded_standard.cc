// What libstdc++'s headers copy by names that gcc expands in place.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#if __cplusplus >= 201703L
#include <string_view>
static_assert(std::string_view("abc") < "abd" && std::string_view("abc").find('c') == 2);
#endif

struct Record {
    long fields[5];
};

Record from[2], to[4];
char text[64];

int main()
{
    std::printf("%p %p\n", static_cast<void *>(to), static_cast<void *>(text));
    std::fflush(stdout);
    std::copy(from, from + 1, to);
    std::copy_n(from, 1, to + 1);
    std::move(from, from + 1, to + 2);
    std::uninitialized_copy(from, from + 1, to + 3);
    std::char_traits<char>::copy(text, "literal of a length", 19);
    std::fill_n(text + 32, 24, 'x');
}
