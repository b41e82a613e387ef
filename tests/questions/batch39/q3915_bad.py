import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class EditData(Dataset):
    def __init__(self, n, g):
        self.original = torch.randn(n, 12, generator=g)
        self.rotation = torch.linalg.qr(torch.randn(12, 12, generator=g))[0]
        self.instruction = torch.randint(0, 3, (n,), generator=g)
        self.wrong = (self.instruction + torch.randint(1, 3, (n,), generator=g)) % 3
        self.has_negative = (torch.rand(n, generator=g) < 0.4).float()
        self.shift = 1.5 * torch.randn(3, 12, generator=g)

    def __len__(self):
        return len(self.original)

    def __getitem__(self, i):
        edited = self.original[i] @ self.rotation + self.shift[self.instruction[i]]
        return self.original[i], edited, self.instruction[i], self.wrong[i], self.has_negative[i]


class UNet(nn.Module):
    def __init__(self, dim=12, width=96):
        super().__init__()
        self.instr = nn.Embedding(3, 16)
        self.net = nn.Sequential(nn.Linear(2 * dim + 17, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, dim))

    def forward(self, noisy, timesteps, original, instruction):
        return self.net(torch.cat([noisy, timesteps, original, self.instr(instruction)], dim=1))


torch.manual_seed(0)
g = torch.Generator().manual_seed(0)
train_set = EditData(1600, g)
loader = DataLoader(train_set, batch_size=8, shuffle=True)
unet = UNet()
optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-3)
margin, triplet_weight = 0.5, 0.1
for epoch in range(6):
    total, total_triplet = 0.0, 0.0
    for original, edited, instruction, wrong, has_negative in loader:
        noise = torch.randn_like(edited)
        timesteps = torch.rand(len(edited), 1)
        noisy = (1 - timesteps).sqrt() * edited + timesteps.sqrt() * noise
        model_pred = unet(noisy, timesteps, original, instruction)
        negative_pred = unet(noisy, timesteps, original, wrong)
        mse = (model_pred - noise).pow(2).mean(dim=1)

        triplet_loss_mask = has_negative * (timesteps.squeeze(1) < 0.7).float()
        negative_mse = (negative_pred - noise).pow(2).mean(dim=1)
        triplet_loss = F.relu(mse - negative_mse + margin)
        triplet_loss = (triplet_loss * triplet_loss_mask).sum() / triplet_loss_mask.sum()

        loss = mse.mean() + triplet_weight * triplet_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += mse.mean().item()
        total_triplet += triplet_loss.item()
    print(f"epoch {epoch} mse {total / len(loader):.4f} triplet {total_triplet / len(loader):.4f}")
