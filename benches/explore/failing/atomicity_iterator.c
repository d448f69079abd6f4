/* A vector grows while another thread walks over it: the capacity is seen new, the storage old.
 * Kind: atomicity. Shows as: assertion. */
#include "../threads.h"

typedef struct {
    atomic_int size;
    int values[4];
} storage;

static storage small = {.size = 1, .values = {1}}, large = {.size = 2, .values = {1, 2}};
static storage *_Atomic current = &small;
static atomic_int size = 1;

THREAD(walker)
{
    storage *walked = current;
    int end = size;
    assert(end <= walked->size);
}

THREAD(grower)
{
    current = &large;
    size = 2;
}

int main(void)
{
    RUN(walker, grower);
    return 0;
}
