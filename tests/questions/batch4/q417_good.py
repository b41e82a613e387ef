import torch
from torch import nn

torch.manual_seed(0)

device = torch.device("cpu")
dtype = torch.float64


class RandomCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, kernel_size=(3, 3), padding=1)
        self.act = nn.LeakyReLU(0.2)

    def forward(self, x):
        return self.act(self.conv1(x))


def gram(features):
    c = features.size(1)
    flat = features.view(c, -1)
    return flat @ flat.t() / flat.size(1)


def compute_content_loss(a_C, a_G):
    return ((a_C - a_G) ** 2).mean()


def compute_style_loss(a_S, a_G):
    return ((gram(a_S) - gram(a_G)) ** 2).mean()


def spectrogram(freq, noise):
    t = torch.arange(64.0)
    f = torch.arange(48.0).unsqueeze(1)
    return torch.exp(-((f - freq - 6 * torch.sin(t / 9)) ** 2) / 8) + noise * torch.rand(48, 64)


a_content = spectrogram(15.0, 0.05).view(1, 1, 48, 64).to(device, dtype)
a_style = spectrogram(30.0, 0.2).view(1, 1, 48, 64).to(device, dtype)

model = RandomCNN().to(device, dtype)
model.eval()
a_C = model(a_content).detach()
a_S = model(a_style).detach()

a_G_var = torch.randn(1, 1, 48, 64).mul(1e-1)
a_G_var = a_G_var.to(device, dtype).requires_grad_()
optimizer = torch.optim.Adam([a_G_var], lr=2e-2)

content_param, style_param = 1.0, 5.0
for epoch in range(1, 201):
    optimizer.zero_grad()
    a_G = model(a_G_var)
    content_loss = content_param * compute_content_loss(a_C, a_G)
    style_loss = style_param * compute_style_loss(a_S, a_G)
    loss = content_loss + style_loss
    loss.backward()
    optimizer.step()
    if epoch % 50 == 0:
        print(f"epoch {epoch}: content {content_loss.item():.5f}, style {style_loss.item():.5f}")
