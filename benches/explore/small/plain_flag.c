/* A plain flag beside the data that it is to protect.
 * Verdict: race. */
#include "../threads.h"

static int data, flag;

THREAD(writer)
{
    data = 1;
    flag = 1;
}

THREAD(reader)
{
    if (flag)
        assert(data == 1);
}

int main(void)
{
    RUN(writer, reader);
    return 0;
}
