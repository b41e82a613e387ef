import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(15)
torch.set_num_threads(1)


class Autoencoder(nn.Module):
    def __init__(self, in_channels, hidden_channels, kernel_size):
        super().__init__()
        self_layer_e_1 = nn.Conv1d(in_channels, hidden_channels, kernel_size)
        self_layer_e_2 = nn.Conv1d(hidden_channels, 2, kernel_size)
        self_layer_d_1 = nn.ConvTranspose1d(2, hidden_channels, kernel_size)
        self_layer_d_2 = nn.ConvTranspose1d(hidden_channels, in_channels, kernel_size)
        self.relu = nn.ReLU()

    def forward(self, x):
        x = self.relu(self_layer_e_1(x))
        encoded = self.relu(self_layer_e_2(x))
        x = self.relu(self_layer_d_1(encoded))
        return self_layer_d_2(x), encoded


t = torch.linspace(0, 6.28, 32)
freq = torch.randint(1, 4, (400, 1)).float()
signal = torch.sin(freq * t + 6.28 * torch.rand(400, 1)).unsqueeze(1)
loader = DataLoader(TensorDataset(signal), batch_size=40, shuffle=True)

model = Autoencoder(1, 8, 5)
optimizer = torch.optim.Adam(params=list(model.parameters()), lr=5e-3)
criterion = nn.MSELoss()

for epoch in range(6):
    total = 0.0
    for (x,) in loader:
        optimizer.zero_grad()
        decoded, encoded = model(x)
        loss = criterion(decoded, x)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}  loss {total / len(loader):.4f}")
