// Characters that a call of a string does not touch: behind what both strings have that are compared, and behind what is
// replaced by as many. Another thread may use them meanwhile.
#include <cstdio>
#include <string>
#include <thread>

std::string longer("a text with more characters than sixteen"), shorter("a text with more");
std::string replaced("another text, as long as the one above is");
char got;

int main()
{
    char *tail = &longer[30], *behind = &replaced[30];
    std::thread other([&] {
        *tail = 'x'; /* @write */
        got = *behind; /* @read */
    });
    int order = longer.compare(shorter); /* @compare */
    replaced.replace(0, 7, "one mor"); /* @replace */
    other.join();
    printf("%d %s %c\n", order > 0, replaced.c_str(), got);
}
