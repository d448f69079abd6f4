/* A thread goes through phases; what it writes without a lock in the third of five, another one reads if it comes in that phase.
 * Kind: order. Shows as: race of race_behind_a_phase.c:18 and race_behind_a_phase.c:35. */
#include "work.h"

static mutex m = MUTEX;
static int phase, result;

THREAD(goes_on)
{
    for (int next = 1; next <= 5; next++) {
        for (int item = 0; item < ITEMS / 5; item++)
            work_on(number, item);
        lock(&m);
        phase = next;
        unlock(&m);
        if (next == 3) {
            work_on(number, 0);
            result = 1;
        }
    }
}

THREAD(looks)
{
    for (int item = 0; item < ITEMS; item++)
        work_on(number, item);
    lock(&m);
    int seen = phase;
    unlock(&m);
    work_on(number, 0);
    lock(&m);
    bool goes = seen == 3 && phase == 3;
    unlock(&m);
    if (goes)
        result++;
}

int main(void)
{
    RUN(goes_on, looks);
    return 0;
}
