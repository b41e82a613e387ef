import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class AudioDataset(Dataset):
    def __init__(self, length, width, seed):
        generator = torch.Generator().manual_seed(seed)
        self.frames = torch.rand(length, 1, width, generator=generator) * 2 - 1

    def __len__(self):
        return len(self.frames)

    def __getitem__(self, index):
        return self.frames[index], self.frames[index] * 2


class MyLSTM(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.embed = nn.Linear(input_size, hidden_size)
        self.lstm = nn.LSTM(input_size=hidden_size, hidden_size=hidden_size, num_layers=2, batch_first=True)
        self.out = nn.Linear(hidden_size, input_size)

    def forward(self, x):
        y, _ = self.lstm(self.embed(x))
        return self.out(y)


def evaluate(model, loader):
    model.eval()
    error, near, count = 0.0, 0.0, 0
    with torch.no_grad():
        for inputs, outputs in loader:
            gap = model(inputs) - outputs
            error += gap.pow(2).sum().item()
            near += (gap.abs() < 0.2).sum().item()
            count += gap.numel()
    return error / count, near / count


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(AudioDataset(1000, 5, seed=1), batch_size=20, shuffle=True)
    test_loader = DataLoader(AudioDataset(300, 5, seed=2), batch_size=100)
    model = MyLSTM(input_size=5, hidden_size=48)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loss_fn = nn.MSELoss(reduction="sum")
    for epoch in range(10):
        model.train()
        total = 0.0
        for inputs, outputs in train_loader:
            optimizer.zero_grad()
            pred = model(inputs)
            loss = loss_fn(pred, outputs)
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 2 == 1:
            mse, near = evaluate(model, test_loader)
            print(
                f"epoch {epoch + 1:2d}: train loss {total / 1000:.4f}  test mse {mse:.4f}  within 0.2: {near:.1%}"
            )
    inputs = torch.tensor([[[0.2, -0.4, 0.6, -0.8, 1.0]]])
    print("in ", [round(v, 2) for v in inputs.flatten().tolist()])
    print("out", [round(v, 2) for v in model(inputs).flatten().tolist()])


if __name__ == "__main__":
    main()
