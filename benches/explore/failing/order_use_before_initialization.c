/* The parent starts its worker before it sets up what the worker uses.
 * Kind: order. Shows as: crash. */
#include "../threads.h"

static int *settings;
static int sum;

THREAD(worker)
{
    sum += settings[0];
}

int main(void)
{
    start(worker, 0);
    int *made = malloc(2 * sizeof *made);
    made[0] = 1;
    made[1] = 2;
    settings = made;
    join_all();
    free(made);
    return 0;
}
