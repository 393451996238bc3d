// What elements are sorted by: numbers as they are, NaN beside infinity.
float keyOf(float value) { return isnan(value) ? uintBitsToFloat(0x7f800000u) : value; }
