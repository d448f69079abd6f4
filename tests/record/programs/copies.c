/* Copies of small structures whose other side is found in a roundabout way: in variables of the thread, by products,
   shifts, divisions and conversions. Two threads do so under a lock, and look at what they have copied. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

struct pair { long first, second; };
struct point { double x, y; };
struct small { int first, second; };

enum { SIZE = 8, ROUNDS = 20 };

static __thread struct pair own = {1, 2};
__thread struct small visible = {3, 4};
static __thread struct point points[SIZE];
static struct pair pairs[SIZE][SIZE], moved[SIZE][SIZE];
static struct small smalls[SIZE], kept[SIZE];
static struct point far[SIZE];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noipa)) static void from_own(struct pair *to, struct small *other)
{
    *to = own;
    *other = visible;
}

__attribute__((noipa)) static void by_products(int row, int column, int by)
{
    moved[row * by % SIZE][column] = pairs[column][(row << (by & 3)) % SIZE];
    pairs[row][column] = moved[row * by % SIZE][(column >> 1) & (SIZE - 1)];
}

__attribute__((noipa)) static void by_division(unsigned at, unsigned by, double where)
{
    smalls[at % SIZE] = kept[at / by % SIZE];
    kept[(at + 1) % SIZE] = smalls[(unsigned)where % SIZE];
    far[(unsigned)(where * 2) % SIZE] = points[(uint8_t)(-at * 3) % SIZE];
}

__attribute__((noipa)) static void by_choice(int at, int other)
{
    pairs[at][at > other ? other : at] = moved[at != other][at == other];
    own = pairs[other][!at];
    points[at % SIZE] = far[__builtin_popcount(at) % SIZE];
}

static void *work(void *number)
{
    long sum = 0;
    own.first += (intptr_t)number;
    visible.second -= (intptr_t)number;
    for (int i = 0; i < SIZE; i++)
        points[i] = (struct point){i, (intptr_t)number};
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&lock);
        int row = round % SIZE, column = (round * 3) % SIZE;
        from_own(&pairs[row][column], &kept[row]);
        sum += pairs[row][column].first + kept[row].second;
        by_products(row, column, round + 1);
        sum += moved[row * (round + 1) % SIZE][column].second + pairs[row][column].first;
        by_division(round, column + 1, round / 2.0);
        sum += smalls[round % SIZE].first + kept[(round + 1) % SIZE].second + (long)far[round % SIZE].y;
        by_choice(row, column);
        sum += own.second + (long)points[row].x + pairs[row][row > column ? column : row].second;
        pthread_mutex_unlock(&lock);
    }
    return (void *)sum;
}

int main(void)
{
    pthread_t threads[2];
    for (intptr_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
