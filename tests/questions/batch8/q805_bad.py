import torch
from torch import nn

torch.manual_seed(0)


class SurrogateSpike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v > 1.0).float()

    @staticmethod
    def backward(ctx, grad_output):
        (v,) = ctx.saved_tensors
        return grad_output / (1.0 + 4.0 * (v - 1.0).abs()) ** 2


class StatefulLIF(nn.Module):
    def __init__(self, features, decay=0.8):
        super().__init__()
        self.decay = decay
        self.features = features
        self.register_buffer("v_mem", torch.zeros(0))

    def reset_states(self):
        if self.v_mem.numel():
            for buffer in self.buffers():
                buffer.zero_()

    def forward(self, current):
        v = self.v_mem if self.v_mem.numel() else current.new_zeros(current.size(0), self.features)
        spikes = []
        for t in range(current.size(1)):
            v = self.decay * v + current[:, t]
            s = SurrogateSpike.apply(v)
            v = v - s
            spikes.append(s)
        self.v_mem = v
        return torch.stack(spikes, dim=1)


class SpikingNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 48)
        self.lif = StatefulLIF(48)
        self.fc2 = nn.Linear(48, 4)

    def forward(self, x):
        return self.fc2(self.lif(self.fc1(x)).mean(dim=1))


def main():
    prototypes = torch.rand(4, 20)
    net = SpikingNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    for step in range(1, 201):
        y = torch.randint(0, 4, (32,))
        x = (torch.rand(32, 15, 20) < prototypes[y].unsqueeze(1)).float()
        net.lif.reset_states()
        out = net(x)
        loss = criterion(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.3f} accuracy {(out.argmax(1) == y).float().mean():.2f}")


if __name__ == "__main__":
    main()
