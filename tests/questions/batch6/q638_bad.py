import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x):
        first = torch.tanh(self.conv1(x))
        second = torch.tanh(self.conv2(F.avg_pool2d(first, 2)))
        return first, second


def gram(features):
    flat = features.flatten(2)
    return flat @ flat.transpose(1, 2) / flat.size(2)


net = Features().double().requires_grad_(False)
content = torch.zeros(1, 1, 16, 16).double()
content[:, :, 4:12, 4:12] = 1
style = (torch.arange(16).view(1, 1, 1, 16) % 4 < 2).expand(1, 1, 16, 16).double()
content_features = net(content)[1]
style_grams = [gram(f) for f in net(style)]

image = torch.rand(1, 1, 16, 16, requires_grad=True).double()
lr = 20.0
for step in range(1, 201):
    first, second = net(image)
    loss = F.mse_loss(second, content_features)
    for features, style_gram in zip((first, second), style_grams, strict=True):
        loss = loss + 5 * F.mse_loss(gram(features), style_gram)
    loss.backward()
    with torch.no_grad():
        image -= lr * image.grad
        image.grad.zero_()
    if step % 40 == 0:
        print(f"step {step}: loss {loss.item():.5f}")
