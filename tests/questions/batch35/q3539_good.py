import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical, kl_divergence

torch.manual_seed(18)
SLOTS = 3


class MaskDecoder(nn.Module):
    def __init__(self, latent=8, size=12):
        super().__init__()
        self.size = size
        self.net = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, size * size))

    def forward(self, z):
        return self.net(z).view(-1, self.size, self.size)


class Monet(nn.Module):
    def __init__(self, size=12, latent=8):
        super().__init__()
        self.attention = nn.Sequential(nn.Conv2d(1, 16, 1), nn.ReLU(), nn.Conv2d(16, SLOTS, 1))
        self.encoder = nn.Sequential(
            nn.Flatten(), nn.Linear(2 * size * size, 64), nn.ReLU(), nn.Linear(64, latent)
        )
        self.decoder = MaskDecoder(latent, size)

    def forward(self, x):
        masks = self.attention(x).softmax(1)
        mask_preds = []
        for i in range(SLOTS):
            z = self.encoder(torch.cat([x, masks[:, i : i + 1]], 1))
            mask_preds.append(self.decoder(z))
        return masks, mask_preds

    def mask_loss(self, masks, mask_preds):
        q_masks = Categorical(probs=masks.permute(0, 2, 3, 1))
        q_masks_recon = Categorical(logits=torch.stack(mask_preds, 3))
        return kl_divergence(q_masks, q_masks_recon).sum((1, 2)).mean()


def make_scenes(count, size=12):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    labels = []
    for _ in range(count):
        label = torch.zeros(size, size, dtype=torch.long)
        x0, x1 = torch.randint(0, 8, (2,)).tolist()
        label[(yy >= 1) & (yy < 4) & (xx >= x0) & (xx < x0 + 4)] = 1
        label[(yy >= 7) & (yy < 11) & (xx >= x1) & (xx < x1 + 3)] = 2
        labels.append(label)
    labels = torch.stack(labels)
    return (labels.float() - 1).unsqueeze(1), labels


def main():
    model = Monet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(300):
        x, labels = make_scenes(24)
        masks, mask_preds = model(x)
        segmentation = F.nll_loss(masks.clamp(min=1e-6).log(), labels)
        loss = 100 * segmentation + model.mask_loss(masks.detach(), mask_preds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.3f} segmentation {segmentation.item():.4f}")
    with torch.no_grad():
        x, labels = make_scenes(256)
        masks, mask_preds = model(x)
        recon = torch.stack(mask_preds, 1).argmax(1)
        agree = (recon == labels)[labels > 0].float().mean().item()
    print(f"loss {loss.item():.3f} objects found by the reconstructed masks {agree:.3f}")


main()
