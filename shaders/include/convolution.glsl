// A convolution over a grid of rows of channels. Include after tensor.glsl.
//
// Push       CONVOLUTION_PUSH first: channels of x and of the result, groups; for each axis what attn::host::ConvolvedAxis holds
#define CONVOLUTION_PUSH                                                                                                          \
    uint C, O, groups;                                                                                                            \
    uint yInput, yOutput, yTaps, yStride, yDilation, yBefore;                                                                     \
    uint xInput, xOutput, xTaps, xStride, xDilation, xBefore;
#define GROUP_C (C / groups)
#define GROUP_O (O / groups)
uint padded(uint columns) { return (columns + 3) / 4 * 4; }
