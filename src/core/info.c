#include "core/info.h"
void weft_info_release(weft_info_t *info){(void)info;}
weft_info_t *weft_info_of(MPI_Info h){(void)h;return 0;}
