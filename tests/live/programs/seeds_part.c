/* A library that makes seeds of clocks and random numbers, as libxml2 does. It is not instrumented. */
#include <stdlib.h>
#include <time.h>

unsigned seed(void)
{
    return (unsigned)time(NULL) ^ (unsigned)clock() ^ arc4random();
}
