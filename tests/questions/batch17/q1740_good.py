import torch
import torch.nn as nn


class CustomLoss(nn.Module):
    def forward(self, output, number):
        multiplier = -1 if number == 3 else 1
        return (output + multiplier).pow(2)


def build_network():
    return nn.Sequential(
        nn.Linear(1, 20),
        nn.Tanh(),
        nn.Linear(20, 20),
        nn.Tanh(),
        nn.Linear(20, 20),
        nn.Tanh(),
        nn.Linear(20, 1),
        nn.Tanh(),
    )


def main():
    torch.manual_seed(0)
    net = build_network()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    loss_function = CustomLoss()
    for i in range(6003):
        number = i % 4 + 1
        output = net(torch.tensor([float(number)]))
        loss = loss_function(output, number)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 2000 == 2:
            gradient = sum(p.grad.pow(2).sum() for p in net.parameters()).sqrt().item()
            with torch.no_grad():
                values = [round(net(torch.tensor([float(k)])).item(), 4) for k in (1, 2, 3, 4)]
            print(f"step {i:4d}: N(1) to N(4) {values}, gradient for the input 3: {gradient:.2e}")


if __name__ == "__main__":
    main()
