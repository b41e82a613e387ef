import torch
from torch import nn
from torch.optim import lr_scheduler

torch.manual_seed(0)


class SmallUnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.middle = nn.Conv2d(8, 8, 3, padding=1)
        self.up = nn.ConvTranspose2d(8, 8, 2, stride=2)
        self.out = nn.Conv2d(9, 1, 3, padding=1)

    def forward(self, x):
        h = torch.relu(self.middle(torch.relu(self.down(x))))
        return self.out(torch.cat([torch.relu(self.up(h)), x], 1))


def make_slices(n):
    masks = torch.zeros(n, 1, 16, 16)
    for mask in masks:
        top, left = torch.randint(1, 9, (2,)).tolist()
        mask[0, top : top + 6, left : left + 6] = 1.0
    return masks * 0.8 + 0.5 * torch.randn(n, 1, 16, 16), masks


initial_lr, num_epochs = 0.01, 10
slices, masks = make_slices(320)
model = SmallUnet()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=initial_lr)
scheduler = lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
for epoch in range(1, num_epochs + 1):
    lr = scheduler.get_last_lr()[0]
    train_loss_total = 0.0
    for idx in torch.randperm(320).split(16):
        loss = criterion(model(slices[idx]), masks[idx])
        train_loss_total += loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(f"epoch {epoch}: learning rate {lr:.2e}, training loss {train_loss_total / 20:.4f}")
