import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 12, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1)
        )

    def forward(self, x):
        return self.net(x)


class ProjLayer(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.proj = nn.Sequential(nn.Conv2d(dim, dim // 2, 1), nn.LeakyReLU(), nn.Conv2d(dim // 2, dim, 1))

    def forward(self, features):
        return self.proj(features)


class Decoder(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.bottleneck = nn.Conv2d(dim, dim, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(dim, dim, 4, stride=2, padding=1)

    def forward(self, z):
        return self.up(F.relu(self.bottleneck(z)))


def cosine_distance(a, b):
    return 1 - F.cosine_similarity(a.flatten(1), b.flatten(1)).mean()


torch.manual_seed(0)
encoder = Encoder().eval().requires_grad_(False)
proj_layer, decoder = ProjLayer(), Decoder()
optimizer_proj = torch.optim.Adam(proj_layer.parameters(), lr=1e-3)
optimizer_distill = torch.optim.Adam(decoder.parameters(), lr=5e-3)
accumulation_steps = 4
dataset = [torch.rand(1, 3, 16, 16) * torch.rand(1, 3, 1, 1) for _ in range(64)]

for epoch in range(8):
    loss_list = []
    for i, img in enumerate(dataset):
        noise = img + 0.2 * torch.randn_like(img)
        inputs = encoder(img)
        feature = proj_layer(inputs)
        feature_noise = proj_layer(encoder(noise))
        loss_proj = cosine_distance(feature_noise, feature.detach()) + cosine_distance(feature, inputs)
        loss_distill = cosine_distance(decoder(feature), inputs)
        loss = (loss_distill + 0.2 * loss_proj) / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer_proj.step()
            optimizer_distill.step()
            optimizer_proj.zero_grad()
            optimizer_distill.zero_grad()
        loss_list.append(loss.item() * accumulation_steps)
    print(f"epoch {epoch} loss {sum(loss_list) / len(loss_list):.5f}")
