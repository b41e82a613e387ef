import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
SIZE, BATCH, STEPS = 24, 4, 250


def make_batch(n):
    yy, xx = torch.meshgrid(torch.arange(SIZE).float(), torch.arange(SIZE).float(), indexing="ij")
    cx = torch.rand(n, 1, 1) * 10 + 7
    cy = torch.rand(n, 1, 1) * 10 + 7
    r = torch.rand(n, 1, 1) * 3 + 4
    dist = ((xx - cx) ** 2 + (yy - cy) ** 2).sqrt()
    alpha = torch.sigmoid((r - dist) * 0.8).unsqueeze(1)
    fg = F.interpolate(torch.rand(n, 3, 3, 3), SIZE, mode="bilinear") * 0.5 + 0.5
    bg = F.interpolate(torch.rand(n, 3, 3, 3), SIZE, mode="bilinear") * 0.5
    img = alpha * fg + (1 - alpha) * bg
    trimap = torch.full_like(alpha, 0.5)
    trimap[alpha > 0.95] = 1.0
    trimap[alpha < 0.05] = 0.0
    return img, trimap, alpha, fg, bg


class MattingNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(4, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=2, dilation=2), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=4, dilation=4), nn.ReLU(),
        )
        self.head = nn.Conv2d(width, 7, 1)

    def forward(self, img, trimap):
        out = self.head(self.body(torch.cat([img, trimap], 1)))
        alpha = torch.clamp(out[:, 0:1] * 0.5 + 0.5, 0, 1)
        fg = torch.sigmoid(out[:, 1:4])
        bg = torch.sigmoid(out[:, 4:7])
        alpha, fg, bg = self.fuse(img, alpha, fg, bg)
        return torch.cat([alpha, fg, bg], 1)

    @staticmethod
    def fuse(img, alpha, fg, bg, la=0.1):
        fg = alpha * img + (1 - alpha ** 2) * fg - alpha * (1 - alpha) * bg
        bg = (1 - alpha) * img + (2 * alpha - alpha ** 2) * bg - alpha * (1 - alpha) * fg
        fg = torch.clamp(fg, 0, 1)
        bg = torch.clamp(bg, 0, 1)
        alpha = (alpha * la + torch.sum((img - bg) * (fg - bg), 1)) / (torch.sum((fg - bg) * (fg - bg), 1) + la)
        alpha = torch.clamp(alpha, 0, 1)
        return alpha, fg, bg


net = MattingNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(STEPS):
    img, trimap, alpha, fg, bg = make_batch(BATCH)
    out = net(img, trimap)
    a, f, b = out[:, 0:1], out[:, 1:4], out[:, 4:7]
    l_alpha = (a - alpha).abs().mean()
    l_comp = (a * fg + (1 - a) * bg - img).abs().mean()
    l_fb = ((f - fg).abs() * (alpha > 0)).mean() + ((b - bg).abs() * (alpha < 1)).mean()
    loss = l_alpha + l_comp + 0.25 * l_fb
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.4f}")

torch.manual_seed(1)
with torch.no_grad():
    sad, ferr = 0.0, 0.0
    for _ in range(20):
        img, trimap, alpha, fg, bg = make_batch(BATCH)
        out = net(img, trimap)
        sad += (out[:, 0:1] - alpha).abs().mean().item() / 20
        ferr += (out[:, 1:4] - fg).abs().mean().item() / 20
print(f"loss {loss.item():.4f}  alpha error {sad:.4f}  foreground error {ferr:.4f}")
