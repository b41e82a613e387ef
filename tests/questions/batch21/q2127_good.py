import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)


def pattern(kind, size=48):
    r = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(r, r, indexing="ij")
    if kind == "content":
        disk = ((xx**2 + yy**2) < 0.4).float()
        return torch.stack([disk, 0.3 + 0.4 * disk, 1 - disk]).unsqueeze(0)
    waves = [0.5 + 0.5 * torch.sin(9 * xx + p + 6 * yy * p) for p in (0.0, 1.0, 2.0)]
    return torch.stack(waves).unsqueeze(0)


def gram_matrix(x):
    b, c, h, w = x.shape
    f = x.view(b * c, h * w)
    return f @ f.t() / (b * c * h * w)


class ContentLoss(nn.Module):
    def __init__(self, target, weight):
        super().__init__()
        self.target = target.detach() * weight
        self.weight = weight

    def forward(self, x):
        self.loss = F.mse_loss(x * self.weight, self.target)
        return x


class StyleLoss(nn.Module):
    def __init__(self, target, weight):
        super().__init__()
        self.target = gram_matrix(target).detach() * weight
        self.weight = weight

    def forward(self, x):
        self.loss = F.mse_loss(gram_matrix(x) * self.weight, self.target)
        return x


content_img, style_img = pattern("content"), pattern("style")
cnn = nn.Sequential()
contents, styles = [], []
channels = 3
for i, width in enumerate((16, 24, 32)):
    conv = nn.Conv2d(channels, width, 3, padding=1)
    nn.init.orthogonal_(conv.weight, gain=1.4)
    cnn.add_module(f"conv_{i}", conv.requires_grad_(False))
    cnn.add_module(f"relu_{i}", nn.ReLU())
    styles.append(StyleLoss(cnn(style_img), weight=30.0))
    if i == 1:
        contents.append(ContentLoss(cnn(content_img), weight=1.0))
        cnn.add_module("content_loss", contents[-1])
    cnn.add_module(f"style_loss_{i}", styles[-1])
    channels = width

input_img = torch.rand_like(content_img).requires_grad_()
optimizer = torch.optim.LBFGS([input_img], max_iter=20, line_search_fn="strong_wolfe")
run = [0]


def closure():
    optimizer.zero_grad()
    cnn(input_img)
    style_score = sum(s.loss for s in styles)
    content_score = sum(c.loss for c in contents)
    loss = style_score + content_score
    loss.backward()
    run[0] += 1
    if run[0] % 50 == 0:
        print(f"run {run[0]} style {style_score.item():.5f} content {content_score.item():.5f}")
    return loss


while run[0] < 200:
    optimizer.step(closure)

with torch.no_grad():
    cnn(input_img)
print("final style loss", round(sum(s.loss for s in styles).item(), 5))
print("final content loss", round(sum(c.loss for c in contents).item(), 5))
print("pixel distance to the content picture", round((input_img - content_img).abs().mean().item(), 3))
