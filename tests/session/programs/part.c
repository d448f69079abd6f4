/* A part of with_part.c. */
void fill(int *room)
{
    for (int i = 0; i < 4; i++)
        room[i] = i;
}
