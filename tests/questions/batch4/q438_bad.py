import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class ResBlock(nn.Module):
    def __init__(self, in_channel, channel):
        super().__init__()
        self.conv = nn.Sequential(
            nn.ReLU(inplace=True),
            nn.Conv2d(in_channel, channel, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(channel, in_channel, 1),
        )

    def forward(self, inputs):
        out = self.conv(inputs)
        out += inputs
        return out


class Encoder(nn.Module):
    def __init__(self, channel=12, n_res_block=2):
        super().__init__()
        self.head = nn.Sequential(
            nn.Conv2d(1, channel, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(channel, channel, 3, padding=1),
        )
        self.blocks = nn.Sequential(*[ResBlock(channel, 8) for _ in range(n_res_block)])
        self.tail = nn.Conv2d(channel, 4, 1)

    def forward(self, x):
        return self.tail(self.blocks(self.head(x)))


class Decoder(nn.Module):
    def __init__(self, channel=12, n_res_block=2):
        super().__init__()
        self.head = nn.Conv2d(4, channel, 3, padding=1)
        self.blocks = nn.Sequential(*[ResBlock(channel, 8) for _ in range(n_res_block)])
        self.tail = nn.ConvTranspose2d(channel, 1, 4, stride=2, padding=1)

    def forward(self, z):
        return self.tail(self.blocks(self.head(z)))


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = Encoder(), Decoder()

    def forward(self, x):
        return self.dec(self.enc(x))


grid = torch.stack(torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij"))
freq = torch.rand(384, 2, 1, 1) * 1.5
images = torch.sin((freq * grid).sum(1, keepdim=True) + 6.2832 * torch.rand(384, 1, 1, 1))

model = AutoEncoder()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    total = 0.0
    for idx in torch.randperm(384).split(32):
        loss = F.mse_loss(model(images[idx]), images[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 2:
        print(f"epoch {epoch}: loss {total / 12:.4f}")
