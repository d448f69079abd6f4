/* Workers sort ranges from a common queue, and leave when it is empty and nobody is at work; a worker counts itself as at work after it has
 * let go of the queue, so another may leave early, and main takes a range for sorted that is not.
 * Kind: work queue. Shows as: assertion. */
#include "../threads.h"

#define COUNT 6

static mutex m = MUTEX;
static int numbers[COUNT] = {5, 2, 6, 1, 4, 3};
static int from[16], to[16], ranges;
static atomic_int at_work;
static atomic_int finished;

static void put(int low, int high)
{
    if (low >= high)
        return;
    lock(&m);
    from[ranges] = low;
    to[ranges] = high;
    ranges++;
    unlock(&m);
}

static int divide(int low, int high)
{
    int pivot = numbers[high], end = low;
    for (int i = low; i < high; i++) {
        if (numbers[i] < pivot) {
            int swapped = numbers[i];
            numbers[i] = numbers[end];
            numbers[end++] = swapped;
        }
    }
    numbers[high] = numbers[end];
    numbers[end] = pivot;
    return end;
}

THREAD(worker)
{
    for (;;) {
        int low = 0, high = -1;
        lock(&m);
        if (ranges > 0) {
            ranges--;
            low = from[ranges];
            high = to[ranges];
        }
        unlock(&m);
        if (low >= high) {
            if (at_work == 0)
                break;
            sched_yield();
            continue;
        }
        at_work++;
        int middle = divide(low, high);
        put(low, middle - 1);
        put(middle + 1, high);
        at_work--;
    }
    /* Nothing is queued and nobody is at work: all is sorted. */
    if (finished++ == 0)
        for (int i = 1; i < COUNT; i++)
            assert(numbers[i - 1] <= numbers[i]);
}

int main(void)
{
    put(0, COUNT - 1);
    RUN(worker, worker);
    return 0;
}
