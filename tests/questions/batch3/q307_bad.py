import torch
from torch import nn

torch.manual_seed(0)

x_rand = torch.rand(3000, 20)
encoding_dim = 20


class AutoEncoder(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(size, 64), nn.ReLU(), nn.Linear(64, encoding_dim))
        self.decoder = nn.Sequential(
            nn.Linear(encoding_dim, 64), nn.ReLU(), nn.Linear(64, size), nn.Sigmoid()
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


autoencoder = AutoEncoder(x_rand.shape[1])
optimizer = torch.optim.Adam(autoencoder.parameters(), lr=2e-3)
criterion = nn.BCELoss()

for epoch in range(25):
    total = 0.0
    for batch in torch.randperm(len(x_rand)).split(100):
        x = x_rand[batch]
        loss = criterion(autoencoder(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    if epoch % 4 == 0:
        print(f"epoch {epoch}: loss {total / len(x_rand):.4f}")
