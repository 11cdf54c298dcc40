/* Gezeitenrechner. Schlüssel: Höhe über Null. */
#include <stdio.h>

#define STEPS 12

struct tide {
    double height; /* in Metern */
};

static double
next(const struct tide *t)
{
    return t->height / STEPS;
}
