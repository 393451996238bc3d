#version 450
// out[i] = factor * in[i] + offset; reads texels and writes a storage buffer, as the engine's kernels do.
layout(local_size_x = 64) in;
layout(constant_id = 0) const float factor = 1.0;
layout(binding = 0) uniform textureBuffer source;
layout(binding = 1) buffer Target { vec4 target[]; };
layout(push_constant) uniform Push { uint texels; float offset; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < texels) target[i] = factor * texelFetch(source, int(i)) + offset;
}
