/* A race behind some blocks of a trace, of which no two are alike: numbers that follow from the first argument. */
#include <pthread.h>
#include <stdlib.h>

enum { NUMBERS = 100000 };

static unsigned long numbers[64];
static int raced;

static void *race(void *unused)
{
    raced = 1;
    return unused;
}

int main(int argc, char **argv)
{
    unsigned long number = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    pthread_t thread;
    pthread_create(&thread, NULL, race, NULL);
    for (int at = 0; at < NUMBERS; at++) {
        number = number * 6364136223846793005UL + 1442695040888963407UL;
        numbers[number >> 58] += number;
    }
    raced = 2;
    pthread_join(thread, NULL);
    return 0;
}
