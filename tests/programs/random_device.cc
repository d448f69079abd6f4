// A random number goes through memory before the race: whoever runs the program again has to be told the same one.
#include <random>
#include <thread>

static unsigned number;
static int message;

int main()
{
    std::random_device device;
    number = device();
    std::thread writer([] {
        message = 1; /* @write */
    });
    unsigned seen = number;
    seen += message; /* @read */
    writer.join();
    return seen == 0 && number == 1;
}
