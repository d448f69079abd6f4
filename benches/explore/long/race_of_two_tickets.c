/* Three threads take a ticket each, in the middle of their work; whoever has the second one and whoever has the third one count without a lock.
 * Kind: order. Shows as: race of race_of_two_tickets.c:19 and race_of_two_tickets.c:23. */
#include "work.h"

static mutex m = MUTEX;
static int tickets, count;

THREAD(worker)
{
    for (int item = 0; item < ITEMS / 2; item++)
        work_on(number, item);
    lock(&m);
    int ticket = tickets++;
    unlock(&m);
    for (int item = 0; item < ITEMS / 4; item++)
        work_on(number, item);
    lock(&m);
    if (ticket == 1 && number == 0)
        count++;
    unlock(&m);
    work_on(number, 0);
    if (ticket == 0 && number == 1)
        count++;
}

int main(void)
{
    RUN_EACH(3, worker);
    return 0;
}
