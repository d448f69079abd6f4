// The lock, which is recursive, is held while both are asked.
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>

struct buffer {
    pthread_mutex_t lock;
    size_t length;
    char text[64];
};

static struct buffer source = {PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, 5, "hello"};
static struct buffer target = {PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, 0, ""};

static size_t length_of(struct buffer *buffer)
{
    pthread_mutex_lock(&buffer->lock);
    size_t length = buffer->length;
    pthread_mutex_unlock(&buffer->lock);
    return length;
}

static int get_chars(struct buffer *buffer, size_t length, char *to)
{
    pthread_mutex_lock(&buffer->lock);
    int fits = length <= buffer->length;
    if (fits)
        memcpy(to, buffer->text, length);
    pthread_mutex_unlock(&buffer->lock);
    return fits;
}

static void set_length(struct buffer *buffer, size_t length)
{
    pthread_mutex_lock(&buffer->lock);
    buffer->length = length;
    pthread_mutex_unlock(&buffer->lock);
}

static void append(struct buffer *to, struct buffer *from)
{
    pthread_mutex_lock(&from->lock);
    size_t length = length_of(from);
    char text[64];
    if (get_chars(from, length, text)) {
        pthread_mutex_lock(&to->lock);
        memcpy(to->text + to->length, text, length);
        to->length += length;
        pthread_mutex_unlock(&to->lock);
    }
    pthread_mutex_unlock(&from->lock);
}

static void *concatenate(void *unused)
{
    append(&target, &source);
    return unused;
}

static void *clear(void *unused)
{
    set_length(&source, 0);
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, concatenate, NULL);
    pthread_create(&second, NULL, clear, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
