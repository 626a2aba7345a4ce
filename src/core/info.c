#include "core/info.h"
void weft_info_release(weft_info_t *info){(void)info;}
