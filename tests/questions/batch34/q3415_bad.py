import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def reduce_sum(x, axis, keepdim):
    for i in sorted(axis, reverse=True):
        x = torch.sum(x, dim=i, keepdim=keepdim)
    return x


class ContextualAttention(nn.Module):
    def __init__(self, ksize=3, softmax_scale=10):
        super().__init__()
        self.ksize, self.softmax_scale = ksize, softmax_scale

    def forward(self, f, b):
        out = []
        escape_nan = torch.FloatTensor([1e-4])
        patches = F.unfold(b, self.ksize, padding=1).transpose(1, 2)
        for xi, wi, raw in zip(f.split(1), patches, b.split(1)):
            wi = wi.reshape(-1, b.shape[1], self.ksize, self.ksize)
            max_wi = torch.max(
                torch.sqrt(reduce_sum(torch.pow(wi, 2), axis=[1, 2, 3], keepdim=True)), escape_nan
            )
            wi_normed = wi / max_wi
            yi = F.conv2d(xi, wi_normed, padding=1)
            yi = F.softmax(yi * self.softmax_scale, dim=1)
            out.append(torch.einsum("nphw,cp->nchw", yi, raw.flatten(2)[0]))
        return torch.cat(out)


class FineGenerator(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(2, width, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.attention = ContextualAttention()
        self.up = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(2 * width, width, 3, padding=1), nn.ELU(), nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, x, mask):
        h = self.down(torch.cat([x * (1 - mask), mask], 1))
        h = h * (1 - F.max_pool2d(mask, 2))
        return self.up(torch.cat([h, self.attention(h, h)], 1))


def make_batch(count=4, size=16):
    x = torch.rand(count, 1, 1, size).expand(-1, -1, size, -1).clone()
    mask = torch.zeros(count, 1, size, size)
    mask[:, :, 4:12, 4:12] = 1
    return x, mask


def main():
    net = FineGenerator()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for step in range(60):
        x, mask = make_batch()
        loss = F.l1_loss(net(x, mask), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 15 == 0 or step == 59:
            print(step, loss.item())


main()
