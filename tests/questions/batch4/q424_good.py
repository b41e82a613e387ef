import torch

torch.manual_seed(545345)

points = torch.randn(64, 1000)
values = torch.randn(64, 1)


class Perceptron(torch.nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.layer = torch.nn.Linear(inputs, 1)

    def forward(self, x):
        return self.layer(x)


def fit(model, steps):
    criterion = torch.nn.MSELoss(reduction="sum")
    optimizer = torch.optim.Adam(model.parameters(), amsgrad=True)
    for step in range(steps):
        optimizer.zero_grad()
        loss = criterion(model(points), values)
        loss.backward()
        optimizer.step()
        if step % 300 == 0 or step == steps - 1:
            print(f"({step}, {loss.item():.3e})")


fit(Perceptron(1000), 5000)
