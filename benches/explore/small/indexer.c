/* Two threads put keys into a table by compare-and-swap, going on to the next slot where one is taken.
 * Verdict: none. */
#include "../threads.h"

static atomic_int table[4];

static void insert(int key)
{
    for (int at = key % 4;; at = (at + 1) % 4) {
        int empty = 0;
        if (atomic_compare_exchange_strong(&table[at], &empty, key))
            return;
    }
}

THREAD(filler)
{
    insert(4 + (int)number);
    insert(8 + (int)number);
}

int main(void)
{
    RUN_EACH(2, filler);
    int sum = 0;
    for (int i = 0; i < 4; i++)
        sum += table[i];
    assert(sum == 4 + 5 + 8 + 9);
    return 0;
}
