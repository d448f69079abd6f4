/* Appending asks the other buffer for its length, and copies that many characters in another critical section.
 * Kind: atomicity. Shows as: assertion. */
#include "../threads.h"

typedef struct {
    mutex m;
    int length;
    char text[8];
} buffer;

static buffer from = {.m = MUTEX, .length = 4, .text = "abcd"}, to = {.m = MUTEX};

static int length_of(buffer *b)
{
    lock(&b->m);
    int length = b->length;
    unlock(&b->m);
    return length;
}

static void copy(buffer *b, char *where, int count)
{
    lock(&b->m);
    assert(count <= b->length);
    for (int i = 0; i < count; i++)
        where[i] = b->text[i];
    unlock(&b->m);
}

THREAD(appender)
{
    lock(&to.m);
    int count = length_of(&from);
    copy(&from, to.text + to.length, count);
    to.length += count;
    unlock(&to.m);
}

THREAD(truncater)
{
    lock(&from.m);
    from.length = 1;
    unlock(&from.m);
}

int main(void)
{
    RUN(appender, truncater);
    return 0;
}
